// Images and what slides over them, NHWC: docs/NUMERICS.md, section 5.

// Where element e of images of this shape lies, and the other way round.
export const placeOf = (e, [, height, width, channels]) => ({
  c: e % channels,
  w: Math.floor(e / channels) % width,
  h: Math.floor(e / (channels * width)) % height,
  n: Math.floor(e / (channels * width * height)),
});
export const indexOf = (n, h, w, c, [, height, width, channels]) => ((n * height + h) * width + w) * channels + c;

// Of `limit` windows along an axis, the first that contains a pixel and the first after them that does not.
export const windowsOver = (stride, pad) => (pixel, kernel, limit) => [
  Math.max(0, Math.ceil((pixel + pad - kernel + 1) / stride)),
  Math.min(Math.floor((pixel + pad) / stride) + 1, limit),
];
