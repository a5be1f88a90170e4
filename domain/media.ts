/** Facts about a file, read from its bytes. An absent field is unknown, and no rule refuses a file because of it. */
export type MediaDetails = {
  /** Frames of an image: 1 for a still one. */
  readonly frames?: number;
  /** Frames per second of a video. */
  readonly frameRate?: number;
  /** The video codec, such as `avc`, `hevc`, `vp9`. */
  readonly videoCodec?: string;
  /** Chroma subsampling, such as `4:2:0`; `4:0:0` is grey. */
  readonly chroma?: string;
  readonly bitDepth?: number;
  /** Width by height of a pixel. */
  readonly pixelAspect?: number;
  /** Such as `aac`, or with its profile where the file names it: `mp4a.40.2`. Absent for a video without sound. */
  readonly audioCodec?: string;
  readonly audioProfile?: string;
  readonly audioChannels?: number;
};

/** A file that a post has on one channel instead of its own files, as stored. */
export type ChannelFile = {
  readonly media_id: string;
  /** For this post and channel only; null uses the file's alt text. */
  readonly alt_text: string | null;
};

type LinkedFile = { readonly linkToken: string; readonly name: string };

/** The link that opens a file in a browser without an API key. The name only makes it readable. */
export const linkOf = (publicUrl: string, { linkToken, name }: LinkedFile): string =>
  `${publicUrl}/files/${linkToken}/${encodeURIComponent(name)}`;
