// data.json: what is kept back, samples of every kind, descriptors and roots, the embedded text's identity.
import crypto from "node:crypto";
import fs from "node:fs";
import { fromBits } from "../arithmetic.mjs";
import { arraySample, arraysRoot, characters, dataRoot, descriptor, generatedSample, image, keptBack, tokenSamples, tokensRoot } from "../data.mjs";
import { bitsOf, bytesOf } from "./read.mjs";

const float = (digits) => fromBits(parseInt(digits, 16));
const sha256 = (bytes) => crypto.createHash("sha256").update(bytes).digest("hex");
const floats = (list) => list.map((value) => bitsOf("f32", value)).join(" ");

export function checkData({ kept_back: shares, token_samples: tokens, generated, images, images_100: hundred, arrays, embedded_text: text }, differs) {
  let count = 0;
  const check = (what, found, wanted) => (++count, found === wanted || differs(what, found));
  for (const { items, share, kept } of shares) check(`${share} of ${items}`, keptBack(items, float(share)), kept);
  for (const { tokens: all, sequence, stride, samples, last_token: last } of tokens) {
    check(`samples of ${all}`, tokenSamples(all, sequence, stride), samples);
    check(`last token of ${all}`, (samples - 1) * stride + sequence, last);
  }
  for (const { descriptor: bytes, data_root: root, sample, fields, seed, noise, ...rest } of generated) {
    const data = { ...rest, seed: BigInt(`0x${seed}`), noise: float(noise) };
    check(`descriptor ${seed}`, descriptor("generated", data).toString("hex"), bytes);
    check(`root ${seed}`, dataRoot(descriptor("generated", data), []).toString("hex"), root);
    const { values, label } = generatedSample(data, sample);
    check(`sample ${sample} of ${bytes}`, floats(values), fields[0]);
    check(`label ${sample}`, bitsOf("i32", label), fields[1]);
  }
  const pixels = [...Array(3072).keys()].map((i) => ((i + 1) * (i + 1) + 3 * (i + 1)) % 251),
    ten = images.map((entry) => ({ ...entry, record: Buffer.from([7, ...pixels]) })),
    other = hundred.map((entry) => ({ ...entry, record: Buffer.from([7, 7, ...pixels]) }));
  for (const { record, seed, step, position, augment, row_16_of_channel_0: row, sha256: hash } of [...ten, ...other]) {
    const values = image(record, augment && { seed: BigInt(`0x${seed}`), step, position });
    check(`row of ${position}`, floats([...Array(32).keys()].map((w) => values[(16 * 32 + w) * 3])), row);
    check(`image of ${position}`, sha256(bytesOf("f32", values)), hash);
  }
  for (const { count: rows, dtype, sample_shape: shape, layout, augment, seed, step, position, descriptor: bytes, ...rest } of arrays) {
    const data = { count: rows, dtype, sample: shape },
      each = shape.reduce((a, b) => a * b),
      values = [...Array(rows * each).keys()].map((i) => (i * i + 3 * i) % 251),
      inputs = dtype === 6 ? Buffer.from(values) : bytesOf("f32", values.map((v) => (v - 125) / 8)),
      labels = [...Array(rows).keys()].map((i) => i % 3),
      size = inputs.length / rows,
      own = inputs.subarray(size * rest.sample, size * (rest.sample + 1)),
      title = `${layout} ${shape}`;
    check(`descriptor of ${title}`, descriptor("arrays", data).toString("hex"), bytes);
    check(`root of ${title}`, arraysRoot(data, inputs, bytesOf("i32", labels)).toString("hex"), rest.data_root);
    const place = augment && { seed: BigInt(`0x${seed}`), step, position };
    check(`sample of ${title}`, floats(arraySample(own, data, layout, place)), rest.fields[0]);
    check(`label of ${title}`, bitsOf("i32", labels[rest.sample]), rest.fields[1]);
  }
  // The text itself is data, not code.
  const bytes = fs.readFileSync(new URL("../../../src/assay/data/corpus.txt", import.meta.url));
  check("embedded text", `${bytes.length} ${sha256(bytes)}`, `${text.bytes} ${text.sha256}`);
  for (const { kind, share, vocabulary, tokens: count_, data_root: root } of text.roots) {
    const all = kind === "chars" ? characters(bytes) : { vocabulary: 256, tokens: [...bytes] },
      train = all.tokens.slice(0, bytes.length - keptBack(bytes.length, float(share)));
    check(`${kind} at ${share}`, `${all.vocabulary} ${train.length}`, `${vocabulary} ${count_}`);
    check(`root of ${kind} at ${share}`, tokensRoot(train).toString("hex"), root);
  }
  return count;
}
