// Judges the evidence of a dispute with nothing but Node's standard library. Written from docs/formats/{dispute,evidence,receipt,log,state,
// data,program,rounded,close_calls,rounding}.md, docs/JOBS.md and docs/NUMERICS.md: it shares no code with Assay, so where both agree, the pages
// say enough and mean what they say. formats.mjs has hashes, the job and the program, law.mjs the law, element.mjs, rounded.mjs and samples.mjs
// what is computed anew.
//
// Checked: the one encoding; job, program and receipts; every signature; every proof on which a charge rests; the law down to the disputed
// element; who falls by each charge, guests too; the verdict. Computed anew: learning rates, step numbers, keys of draws, drawn weights,
// samples, elements of all ops and values of their derivations, of rounded jobs with their bounds and by each party's own log. What is not
// (starting values from a file) is listed as unchecked: nobody falls by it, and a draw that rests on it is believed (`open`).
import {
  ascending,
  blob,
  Failure,
  hex,
  list,
  need,
  openJob,
  openProgram,
  range,
  Reader,
  seedOf,
  sha256,
  string,
  u32,
  u64,
} from "./formats.mjs";
import { isSigned, isUsable } from "../ed25519.mjs";
import { causes, Law, openQuestion } from "./law.mjs";
import { Found, Missing, Open, Unchecked } from "./outcomes.mjs";
import { verifyProgram } from "./program.mjs";
import { checkEncodings, checkProgram, checkStep, fits } from "./sizes.mjs";

// The evidence (evidence.md) and its one encoding.
const fieldsOfFinding = ["step", "node", "index", "leaf", "element"];
function openEvidence(bytes) {
  need(bytes.length <= 2 ** 26, "longer than 64 MiB");
  const r = new Reader(bytes, "evidence"),
    place = () => r.u32();
  need(r.string() === "assay/evidence/2", "not evidence of format 2");
  const finding = () => {
    const found = { strikes: r.u8(), cause: r.u8() };
    for (const name of fieldsOfFinding) {
      const there = r.flag(),
        value = r.u64();
      if (there) found[name] = value;
      else need(value === 0, "finding: not 0");
    }
    return found;
  };
  const ascending = (numbers) => {
    need(
      numbers.every((number, i) => i === 0 || numbers[i - 1] < number),
      "trial: a list that is not ascending",
    );
    return numbers;
  };
  const charge = {
    1: () => ({
      parties: [place(), place()],
      sides: [r.list(place), r.list(place)],
      shared: ascending(r.list(place)),
      finding: finding(),
      falls: ascending(r.list(place)),
    }),
    2: () => ({ party: place(), statement: place() }),
    3: () => ({ party: place(), statements: [place(), place()] }),
    4: () => ({ parties: [place(), place()] }),
    5: () => ({ party: place(), question: r.blob() }),
    6: () => ({ parties: [place(), place()], sides: [r.list(place), r.list(place)] }),
  };
  const evidence = {
    job: r.blob(),
    program: r.blob(),
    referee: r.take(32),
    nonce: r.take(32),
    comparison: r.flag(),
    parties: r.list(() => ({ receipt: r.string(), label: r.u32(), unsigned: r.flag() })),
    again: r.list(() => r.string()),
    statements: r.list(() => ({
      question: r.blob(),
      body: r.blob(),
      signers: r.list(() => ({ party: r.u32(), signature: r.take(64) })),
    })),
    charges: r.list(() => {
      const kind = r.u8();
      need(charge[kind], `charge of kind ${kind}`);
      return { kind, ...charge[kind]() };
    }),
  };
  r.end();
  need(!evidence.comparison || evidence.parties.length + evidence.again.length <= 2, "a comparison is of two runs");
  return evidence;
}
function encode({ job, program, referee, nonce, comparison, parties, again, statements, charges }) {
  const finding = (found) =>
    Buffer.concat([
      Buffer.of(found.strikes, found.cause),
      ...fieldsOfFinding.flatMap((name) => [Buffer.of(name in found ? 1 : 0), u64(found[name] ?? 0)]),
    ]);
  const charge = {
    1: (c) => [
      ...c.parties.map(u32),
      ...c.sides.map((side) => list(side, u32)),
      list(c.shared, u32),
      finding(c.finding),
      list(c.falls, u32),
    ],
    2: (c) => [u32(c.party), u32(c.statement)],
    3: (c) => [u32(c.party), ...c.statements.map(u32)],
    4: (c) => c.parties.map(u32),
    5: (c) => [u32(c.party), blob(c.question)],
    6: (c) => [...c.parties.map(u32), ...c.sides.map((side) => list(side, u32))],
  };
  return Buffer.concat([
    string("assay/evidence/2"),
    blob(job),
    blob(program),
    referee,
    nonce,
    Buffer.of(comparison),
    list(parties, (party) => Buffer.concat([string(party.receipt), u32(party.label), Buffer.of(party.unsigned)])),
    list(again, string),
    list(statements, ({ question, body, signers }) =>
      Buffer.concat([
        blob(question),
        blob(body),
        list(signers, ({ party, signature }) => Buffer.concat([u32(party), signature])),
      ]),
    ),
    list(charges, (c) => Buffer.concat([Buffer.of(c.kind), ...charge[c.kind](c)])),
  ]);
}

function decodedJson(bytes, what) {
  try {
    return JSON.parse(bytes);
  } catch {
    throw new Failure(`${what}: not JSON`);
  }
}

// A public key as log.md has it ("Keys"): NAME+HASH and its bytes; undefined if the text is none.
function publicKey(text) {
  const [, name, hash, data] = /^([A-Za-z0-9._\/-]{1,64})\+([0-9a-f]{8})\+([A-Za-z0-9+\/=]{44})$/.exec(text) ?? [],
    key = Buffer.from(data ?? "", "base64");
  const fits = key[0] === 1 && isUsable(key.subarray(1)) && key.toString("base64") === data;
  if (!fits || hex(sha256(`${name}\n`, key).subarray(0, 4)) !== hash) return undefined;
  return { id: `${name}+${hash}`, key };
}

// receipt.md; what a claim about a job has to say is known but for what it promises and its own affairs.
function openReceipt(text, job, what) {
  const type = "application/vnd.in-toto+json";
  const match = /^\{"payload":"([^"]*)","payloadType":"([^"]*)","signatures":\[\{"keyid":"([^"]*)","sig":"([^"]*)"\}\]\}\n$/.exec(
    text,
  );
  need(match && match[2] === type, `${what}: not an envelope`);
  const [payload, signature] = [match[1], match[4]].map((base64) => Buffer.from(base64, "base64"));
  need(payload.toString("base64") === match[1] && signature.toString("base64") === match[4], `${what}: not canonical base64`);
  const said = decodedJson(payload, what),
    p = said.predicate,
    signer = publicKey(p?.signer);
  need(signer && match[3] === signer.id, `${what}: signer`);
  const { key } = signer;
  need(
    isSigned(key.subarray(1), Buffer.concat([Buffer.from(`DSSEv1 ${type.length} ${type} ${payload.length} `), payload]), signature),
    `${what}: bad signature`,
  );
  const digest = (value) => {
    need(/^[0-9a-f]{64}$/.test(value), `${what}: expected a digest`);
    return value;
  };
  need(
    /^[0-9a-f]{8}$/.test(p.loss_bits) && Number.isInteger(p.snapshot_every) && p.snapshot_every >= 0 && p.snapshot_every < 2 ** 32,
    `${what}: loss or snapshots`,
  );
  need(/^[A-Za-z0-9._\/-]{1,129}$/.test(p.log.origin), `${what}: origin of the log`);
  need(p.follows === null || publicKey(p.follows?.signer), `${what}: follows`);
  const claim = {
    log: digest(p.log.root),
    initial: digest(p.initial_state_root),
    final: digest(p.final_state_root),
    loss: parseInt(p.loss_bits, 16),
    weights: digest(p.weights),
  };
  const statement = {
    _type: "https://in-toto.io/Statement/v1",
    subject: [{ name: "model.safetensors", digest: { sha256: digest(said.subject[0].digest.sha256) } }],
    predicateType: "urn:assay:receipt:2",
    predicate: {
      job: job.id,
      trajectory: job.trajectory,
      program: job.programHash,
      data: job.data,
      steps: job.steps,
      commit_every: job.every,
      snapshot_every: p.snapshot_every,
      log: { origin: p.log.origin, size: job.entries, root: claim.log },
      initial_state_root: claim.initial,
      final_state_root: claim.final,
      loss_bits: p.loss_bits,
      weights: claim.weights,
      follows: p.follows === null ? null : { signer: p.follows.signer, log: digest(p.follows.log) },
      signer: p.signer,
    },
  };
  need(JSON.stringify(statement) === payload.toString("latin1"), `${what}: is no claim about this job in its one form`);
  return { ...claim, follows: p.follows, key: key.subarray(1), signer: p.signer, promise: JSON.stringify(claim) };
}

function jobOf({ job: bytes, program }) {
  const { data, given, fields, stepsAt } = openJob(bytes),
    without = Buffer.from(bytes);
  u64(0).copy(without, stepsAt);
  const idOf = (encoding) => hex(sha256(u64(encoding.length), encoding, u64(program.length), program));
  const { steps, precision, "commit.every": every } = fields,
    seed = seedOf(data, fields);
  need(
    Object.entries(fields).every(([name, value]) => name === "seed" || typeof value !== "bigint"),
    "job: a number is too large",
  );
  need([steps, every, fields["batch.microbatch"]].every((value) => Number.isSafeInteger(value) && value >= 1), "job: steps or batch");
  need(["fp32", "fp64-rounded", "int8x3", "int8x2"].includes(precision), `jobs of ${precision} are not disputed`);
  return {
    id: idOf(bytes),
    trajectory: idOf(without),
    programHash: hex(sha256(program)),
    data,
    given,
    fields,
    steps,
    seed,
    precision,
    every,
    entries: Math.ceil(steps / every) + 1,
    stepOf: (entry) => Math.min(entry * every, steps),
  };
}

// What each kind of charge shows: [who falls, how], or a Failure.
class Judge {
  constructor(evidence) {
    Object.assign(this, evidence, { evidence });
    checkEncodings(evidence.job, evidence.program);
    this.law = jobOf(evidence);
    this.graphs = openProgram(evidence.program);
    checkProgram(this.law, this.graphs);
    verifyProgram(this.graphs);
    this.terms = new Law(this.law, this.graphs, [], []); // which nobody has said anything about
    checkStep(this.terms);
    this.weighed = 0;
    need(this.parties.length <= 65536 && this.again.length <= 65536 && this.charges.length <= 2 * this.parties.length, "too many parties or charges");
    this.parties = this.parties.map((party, i) => ({ ...party, ...openReceipt(party.receipt, this.law, `receipt ${i}`) }));
    this.parties.forEach(({ label }, i) => need(i === 0 || this.parties[i - 1].label < label, "parties: numbers not ascending"));
    const claims = new Set(this.parties.map(({ key, promise }) => hex(key) + promise));
    need(claims.size === this.parties.length, "the same claim under the same key twice");
    if (!this.comparison) {
      const keys = new Set(this.parties.map(({ key }) => hex(key)));
      need(
        keys.size === this.parties.length || this.law.precision !== "fp64-rounded",
        "one key has several claims that do not contradict each other",
      );
    }
    const hashOf = (receipt) => sha256(Buffer.from(receipt, "latin1"));
    this.others = this.again.map((receipt) => openReceipt(receipt, this.law, "another receipt"));
    for (const { key, promise } of this.others) {
      need(claims.has(hex(key) + promise), "another receipt is none in which a party claims the same");
    }
    ascending(this.again.map(hashOf), "other receipts");
    const hashes = [...this.parties.map(({ receipt }) => receipt), ...this.again].map(hashOf).sort(Buffer.compare);
    this.id = sha256(
      string(this.comparison ? "assay/comparison/2" : "assay/dispute/2"),
      Buffer.from(this.law.id, "hex"),
      this.referee,
      u32(hashes.length),
      ...hashes,
      this.nonce,
    );
    this.statements = this.statements.map((statement, i) => this.openStatement(statement, i));
  }
  openStatement({ question, body, signers }, i) {
    const bound = Buffer.from(question),
      at = string("assay/question/2").length;
    const opened = openQuestion(question);
    need(fits(this.terms, opened, body), `statement ${i}: longer than any answer can be`);
    this.id.copy(bound, at);
    const message = Buffer.concat([Buffer.from("assay/answer/2\n"), sha256(bound), sha256(body)]);
    need(
      signers.length > 0 &&
        signers.every(({ party }, k) => party < this.parties.length && (k === 0 || signers[k - 1].party < party)),
      `statement ${i}: signers`,
    );
    for (const { party, signature } of signers) {
      const { unsigned, key } = this.parties[party];
      need(
        unsigned ? signature.every((byte) => byte === 0) : isSigned(key, message, signature),
        `statement ${i}: not signed by party ${party}`,
      );
    }
    return { question: opened, text: hex(question), body, signers: signers.map(({ party }) => party) };
  }
  weigh(charge) {
    const kinds = [undefined, this.trial, this.unprovenLog, this.twoAnswers, this.twoReceipts, this.silence, this.draw];
    return kinds[charge.kind].call(this, charge);
  }
  // Gone through so many times.
  answers(places, times = 1) {
    return places.map((place) => {
      need(this.statements[place], "no such statement");
      this.weighed += (this.statements[place].body.length + 64) * times;
      need(this.weighed <= 2 ** 28, "the charges rest on more than 256 MiB");
      return this.statements[place];
    });
  }
  run(parties, sides) {
    return new Law(
      this.law,
      this.graphs,
      parties.map((party) => this.parties[party]),
      sides,
    ).run();
  }

  trial({ parties, sides, shared, finding, falls }) {
    need(
      [...parties, ...falls].every((party) => this.parties[party]),
      "trial: no such party",
    );
    const said = sides.map((side) => this.answers(side)),
      shown = this.answers(shared, Math.max(1, falls.length));
    need(
      said.every((side) => new Set(side.map(({ text }) => text)).size === side.length),
      "trial: two answers to one question",
    );
    const outcome = this.run(parties, said);
    if (outcome instanceof Unchecked || outcome instanceof Open) return { unchecked: outcome.why };
    need(outcome instanceof Found, `trial: is not finished: kind ${outcome.kind} about ${outcome.tree}`);
    const same = ["strikes", "cause", ...fieldsOfFinding].every((name) => outcome.finding[name] === finding[name]);
    need(same, `trial: the law finds ${JSON.stringify(outcome.finding)}, not ${JSON.stringify(finding)}`);
    const kept = new Map(),
      once = (name, make) => (kept.has(name) ? kept : kept.set(name, make())).get(name);
    return {
      fallen: falls.map((party) => {
        const side = [0, 1].find(
          (s) => finding.strikes & (5 << s) && this.standsBy(party, parties[s], said, s, shown, parties, outcome, once),
        );
        need(side !== undefined, `trial: party ${party} is not struck`);
        return { party, how: !(finding.strikes & (1 << side)) && this.follows(party) ? "misled" : "convicted" };
      }),
    };
  }
  // Whether every receipt in which its key claims this says so.
  follows(party) {
    const { key, promise } = this.parties[party];
    return [...this.parties, ...this.others].every((claim) => claim.follows || !claim.key.equals(key) || claim.promise !== promise);
  }
  // `once` keeps what is the same for all who fall by the trial.
  standsBy(party, examined, said, side, shown, parties, { finding, unproven }, once) {
    const own = ({ question: { kind } }) => kind === 1 || kind === 5;
    if (!said[side].every((statement) => !(own(statement) || unproven.includes(statement)) || statement.signers.includes(party)))
      return false;
    if (this.parties[party].promise === this.parties[examined].promise) return true;
    const bound =
      ["receipt", "entry", "start", "weights"].includes(causes[finding.cause]) ||
      unproven.some(({ question: { tree } }) => /^(1|12),/.test(tree));
    const outcome = once("interval", () =>
      this.run(
        parties,
        said.map((answers) => answers.filter((statement) => !own(statement))),
      ),
    );
    if (bound || !(outcome instanceof Missing) || outcome.kind !== 1) return false;
    const [tree, at] = outcome.tree.split(",").map(Number),
      entry = tree === 3 ? at : Math.ceil(at / this.law.every);
    const open = (whose) =>
      once(this.parties[whose].log, () => {
        for (const statement of shown) {
          const law = new Law(this.law, this.graphs, [], [[statement]]);
          try {
            return Buffer.concat(
              law.leaves(0, "1,0,0,0", this.law.entries, Buffer.from(this.parties[whose].log, "hex"), entry - 1, entry + 1),
            );
          } catch {
            // a statement about another log
          }
        }
      });
    return open(party) !== undefined && !!open(examined)?.equals(open(party));
  }
  unprovenLog({ party, statement }) {
    const [{ question, body, signers }] = this.answers([statement]),
      { kind, tree, spans } = question;
    need(
      signers.includes(party) && kind === 3 && tree === "1,0,0,0" && spans.at(-1).end <= this.law.entries,
      "unproven log: not the party's answer about its log",
    );
    const law = new Law(this.law, this.graphs, [], [[{ question, body }]]);
    let outcome;
    try {
      law.leaves(0, tree, this.law.entries, Buffer.from(this.parties[party].log, "hex"), 0, this.law.entries, undefined, spans);
    } catch (thrown) {
      outcome = thrown;
    }
    need(outcome instanceof Found, "unproven log: it is proven");
    return { fallen: [{ party, how: "convicted" }] };
  }
  twoAnswers({ party, statements }) {
    const [a, b] = this.answers(statements);
    need(
      a.text === b.text && !a.body.equals(b.body) && a.signers.includes(party) && b.signers.includes(party),
      "two answers: they are not",
    );
    return { fallen: [{ party, how: "convicted" }] };
  }
  twoReceipts({ parties }) {
    const [a, b] = parties.map((party) => this.parties[party]);
    need(
      a && b && !this.comparison && this.law.precision !== "fp64-rounded" && a.key.equals(b.key) && a.promise !== b.promise,
      "two receipts: they do not contradict each other",
    );
    return { fallen: parties.map((party) => ({ party, how: "convicted" })) };
  }
  silence({ party, question }) {
    need(this.parties[party] && openQuestion(question), "silence: no such party");
    return { fallen: [{ party, how: "silent" }] };
  }

  // Nobody falls by a draw: the law is gone through and leaves it open.
  draw({ parties, sides }) {
    need(
      parties.every((party) => this.parties[party]),
      "draw: no such party",
    );
    const said = sides.map((side) => this.answers(side));
    need(
      said.every((side) => new Set(side.map(({ text }) => text)).size === side.length),
      "draw: two answers to one question",
    );
    const outcome = this.run(parties, said);
    need(outcome instanceof Unchecked || outcome instanceof Open, "draw: it is decided, or not finished");
    return { drawn: outcome.why };
  }

  judge() {
    const fallen = new Map(),
      unchecked = [],
      used = new Set(),
      // Of two runs of one key that are compared, a signature does not tell which it speaks for.
      oneSigner = this.comparison && new Set(this.parties.map(({ key }) => hex(key))).size < this.parties.length,
      proven = ({ party }) => !this.parties[party].unsigned && !oneSigner;
    const immune = new Set(), // charged with what cannot be checked: nobody of them falls by a later charge
      open = ({ party }) => !fallen.has(party) && !immune.has(party),
      unsettled = [];
    let whyOpen;
    this.charges.forEach((charge, i) => {
      const { fallen: who = [], unchecked: why, drawn } = this.weigh(charge),
        named = why ? charge.falls.map((party) => ({ party })) : who;
      if (drawn) {
        const promises = range(this.parties.length)
          .filter((party) => !fallen.has(party))
          .map((party) => this.parties[party].promise);
        need(
          i + 1 === this.charges.length && charge.parties.every((party) => promises.includes(this.parties[party].promise)),
          "draw: not the last charge, or of one of whom nobody stands",
        );
        whyOpen = drawn;
      } else need(named.some(open), `charge ${i}: brings down nobody`);
      if (why) {
        unchecked.push(why);
        unsettled.push(i);
        charge.falls.filter((party) => !fallen.has(party)).forEach((party) => immune.add(party));
      }
      for (const { party, how } of who.filter(open))
        fallen.set(party, how === "convicted" && !proven({ party }) && charge.kind !== 4 ? "referee's word" : how);
      for (const place of [charge.sides ?? [], charge.shared ?? [], charge.statement ?? [], charge.statements ?? []].flat(2))
        used.add(place);
    });
    need(used.size === this.statements.length, "statements on which no charge rests");
    const standing = range(this.parties.length).filter((party) => !fallen.has(party)),
      left = new Set(standing.map((party) => this.parties[party].promise));
    const agree = new Set(this.parties.map(({ promise }) => promise)).size === 1;
    const verdict =
      left.size === 0
        ? "none"
        : left.size > 1
          ? "undecided"
          : agree
            ? "both"
            : this.comparison
              ? "ab"[standing[0]]
              : String(this.parties[standing[0]].label);
    const named = (how) =>
      [...fallen]
        .filter(([, fell]) => fell === how)
        .map(([party]) => this.parties[party].label)
        .sort((a, b) => a - b);
    return {
      verdict,
      job_id: this.law.id,
      convicted: named("convicted"),
      misled: named("misled"),
      silent: named("silent"),
      unproven: named("referee's word"),
      standing: standing.map((party) => this.parties[party].label),
      charges: this.charges.map(({ kind, finding }, i) =>
        finding ? { kind, ...finding, cause: causes[finding.cause], ...(unsettled.includes(i) && { unchecked: true }) } : { kind },
      ),
      unchecked,
      ...(whyOpen && { open: whyOpen }),
    };
  }
}

// What `assay judge` makes of evidence: the judgement, and its exit status. A Failure: it is no valid evidence.
export function judge(bytes) {
  const evidence = openEvidence(bytes);
  need(encode(evidence).equals(bytes), "not in its one encoding");
  const judging = new Judge(evidence),
    found = judging.judge(),
    convicts = found.convicted.length > 0;
  // One claim, which nobody contradicts, not even its own signer.
  if (evidence.parties.length + evidence.again.length < 2 && !convicts) found.verdict = "undecided";
  const status = convicts ? 0 : found.verdict === "undecided" ? 3 : 1;
  return { found, convicts, parties: judging.parties, comparison: evidence.comparison === 1, status };
}
