import type { MediaFile } from '../../db/entities/media-file.ts';
import { linkOf } from '../../domain/links.ts';

export type MediaView = {
  readonly id: string;
  readonly type: string;
  readonly url: string;
  readonly name: string;
  readonly size_bytes: number;
  readonly width: number | null;
  readonly height: number | null;
  readonly duration_ms: number | null;
  readonly created_at: string;
};

/** A file as the API answers it. */
export const presentMedia = (publicUrl: string, file: MediaFile): MediaView => ({
  id: file.id,
  type: file.type,
  url: linkOf(publicUrl, file),
  name: file.name,
  size_bytes: file.sizeBytes,
  width: file.width,
  height: file.height,
  duration_ms: file.durationMs,
  created_at: file.createdAt.toISOString(),
});
