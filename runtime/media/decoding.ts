import { readFileSync } from 'node:fs';
import sharp, { type Metadata } from 'sharp';

// Restrict sharp to our formats: it would read an SVG that starts like a GIF.
sharp.block({ operation: ['VipsForeignLoad'] });
sharp.unblock({
  operation: ['Jpeg', 'Png', 'Nsgif', 'Webp'].map((format) => `VipsForeignLoad${format}`),
});

export { sharp };

/**
 * Decoding options for the upload and for later shrinking, so that every accepted image can be shrunk.
 *
 * `error` accepts harmless faults that viewers ignore, such as the scan parameters of some Samsung phones, and refuses
 * an incomplete file.
 */
export const decoding = {
  failOn: 'error',
  /** Per frame. No network accepts a third of it; decoded, it would be 400 MB. */
  limitInputPixels: 100_000_000,
  sequentialRead: true,
} as const;

/** A real JPEG has up to 20 scans. One takes 60 bytes, and up to 60 ms at each decoding of 30 million pixels. */
export const hasManyScans = (file: string, format: string): boolean =>
  format === 'jpeg' && readFileSync(file, 'latin1').split('\u{FF}\u{DA}').length > 51;

export const maxFrames = 10_000;

/** For a WebP, before sharp reads it: its time grows with the square of the frames, to 30 s for 100,000. */
export const hasManyFrames = (file: string): boolean =>
  readFileSync(file, 'latin1').split('ANMF').length > maxFrames + 1;

/** A profile with `mpet` can list one step thousands of times for each colour. Cameras and editors write none. */
export const profileOptions = ({ icc }: Metadata) => ({
  ignoreIcc: icc?.includes('mpet') ?? false,
});
