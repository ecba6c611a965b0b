// Ed25519 signatures by the rule of docs/formats/log.md ("Keys"): S < L, public key and R canonical and not of small order, the equation without
// cofactor. Node's library checks S and the equation, and takes any point.
import crypto from "node:crypto";

const p = 2n ** 255n - 19n;
// The y of the points whose order divides 8, of either sign: of order 1, 2, 4, and the two of order 8.
const small = [
  1n,
  p - 1n,
  0n,
  0x05fc536d880238b13933c6d305acdfd5f098eff289f4c345b027b2c28f95e826n,
  0x7a03ac9277fdc74ec6cc392cfa53202a0f67100d760b3cba4fd84d3d706a17c7n,
];
const isPoint = (bytes) => {
  const y = BigInt(`0x${Buffer.from(bytes).reverse().toString("hex")}`) & (2n ** 255n - 1n);
  return y < p && !small.includes(y);
};
function opened(key) {
  const prefix = Buffer.from("302a300506032b6570032100", "hex"); // SubjectPublicKeyInfo of an Ed25519 key
  return crypto.createPublicKey({ key: Buffer.concat([prefix, key]), format: "der", type: "spki" });
}

// Whether 32 bytes are a public key under which a signature can be good, as far as the bytes tell.
export const isUsable = (key) => key.length === 32 && isPoint(key);
export const isSigned = (key, message, signature) =>
  isUsable(key) &&
  signature.length === 64 &&
  isPoint(signature.subarray(0, 32)) &&
  crypto.verify(null, Buffer.from(message), opened(key), signature);
