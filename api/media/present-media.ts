import type { MediaFile } from '../../db/entities/media.ts';
import { linkOf } from '../../domain/media.ts';
import type { MediaView } from './schemas.ts';

export const presentMedia = (publicUrl: string, file: MediaFile): MediaView => ({
  id: file.id,
  type: file.type,
  url: linkOf(publicUrl, file),
  name: file.name,
  size_bytes: file.sizeBytes,
  width: file.width,
  height: file.height,
  duration_ms: file.durationMs,
  alt_text: file.altText,
  created_at: file.createdAt.toISOString(),
});
