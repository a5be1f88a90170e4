/**
 * How images are decoded: the one decoding at the upload and every later one take and refuse the same files, so that
 * whatever was accepted can be made smaller.
 *
 * `error` takes harmless faults that viewers ignore, such as the scan parameters of some Samsung phones, and refuses a
 * file that breaks off.
 */
export const decoding = {
  failOn: 'error',
  /** Of one frame. No network takes a third of it; decoded, it would be 400 MB. */
  limitInputPixels: 100_000_000,
  sequentialRead: true,
} as const;
