/**
 * Facts about a file beyond its type, size and length, read from its bytes. A field that is left out is unknown, and no
 * rule refuses a file because of an unknown field.
 */
export type MediaDetails = {
  /** How many an image has: 1 for a still one. */
  readonly frames?: number;
  /** Frames per second of a video. */
  readonly frameRate?: number;
  /** The codec of the picture, such as `avc`, `hevc`, `vp9`. */
  readonly videoCodec?: string;
  /** Chroma subsampling, such as `4:2:0`; `4:0:0` is grey. */
  readonly chroma?: string;
  /** Bits of each sample. */
  readonly bitDepth?: number;
  /** Width of a pixel by its height. */
  readonly pixelAspect?: number;
  /** Such as `aac`, and with its profile where the file names it: `mp4a.40.2`. Left out for a video without sound. */
  readonly audioCodec?: string;
  readonly audioProfile?: string;
  readonly audioChannels?: number;
};
