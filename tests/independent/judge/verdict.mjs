// The judgement as `assay judge --json` prints it (docs/OUTPUT.md), without its words.
export function verdictOf(file, { found, convicts, parties, comparison }) {
  const named = (labels) =>
    labels.map((label) => {
      const place = parties.findIndex((party) => party.label === label),
        [name] = parties[place].signer.split("+");
      return { label: comparison ? "ab"[place] : String(label), name, key: parties[place].signer };
    });
  const { cause = null, step = null, node = null, index = null, leaf = null, element = null } =
    found.charges.findLast(({ cause: known, unchecked }) => known !== undefined && !unchecked) ?? {};
  return {
    evidence: file,
    convicts,
    verdict: found.verdict,
    job_id: found.job_id,
    convicted: named(found.convicted),
    accused: named(found.unproven),
    standing: named(found.standing),
    misled: named(found.misled),
    refused: [],
    absent: named(found.silent),
    proven: convicts,
    cause,
    step,
    node,
    index,
    leaf,
    element,
    charges: found.charges,
    unchecked: found.unchecked,
    open: found.open ?? null,
  };
}
