import type { MediaDetails } from '../../domain/media-details.ts';

/** What a file shows, apart from its type. */
export type PictureFacts = {
  /** In pixels, as displayed. */
  readonly width: number | null;
  readonly height: number | null;
  /** Of a video or an animation. */
  readonly durationMs: number | null;
  readonly details: MediaDetails;
};

export type MediaFacts = PictureFacts & { readonly type: string };

/** In a sentence for its owner, why a file is no image and no video that we take. */
export type Refusal = { readonly refusal: string };
