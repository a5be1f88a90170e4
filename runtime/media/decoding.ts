/**
 * How images are decoded, at the upload and later, so that every image that was accepted can be made smaller.
 *
 * `error` accepts harmless faults that viewers ignore, such as the scan parameters of some Samsung phones, and refuses an
 * incomplete file.
 */
export const decoding = {
  failOn: 'error',
  /** Of one frame. No network takes a third of it; decoded, it would be 400 MB. */
  limitInputPixels: 100_000_000,
  sequentialRead: true,
} as const;
