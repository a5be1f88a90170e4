import type { Json } from '../../domain/json-schema.ts';
import type { OauthEntry } from '../../networks/oauth/contract.ts';
import type { Rules } from '../../networks/content-rules.ts';
import type { FileKind, TextLimit } from '../../networks/validation/limits.ts';
import { libraryTypes } from '../media/file-name.ts';
import { maxFileBytes } from '../media/store-files.ts';
import type { NetworkView } from './schemas.ts';

/**
 * Describes what a client needs to build a valid post: the limits of the network's validation rules, without file
 * types that the media library refuses.
 */
export function describeNetwork(
  platform: string,
  { rules, oauth }: { readonly rules: Rules; readonly oauth: OauthEntry | undefined },
  settings: Json,
): NetworkView {
  const { text, files, required = [] } = rules.limits(settings);
  return {
    platform,
    threads: rules.threads,
    first_comment: rules.comments ?? false,
    texts: text.map(describeText),
    files: describeFiles(files),
    required,
    options: rules.options as unknown as NetworkView['options'],
    connect: oauth ? describeConnecting(oauth) : null,
  };
}

const describeConnecting = ({ missing, fields }: OauthEntry): NetworkView['connect'] => ({
  configured: missing.length === 0,
  fields: Object.entries(fields).map(([name, field]) => ({
    name,
    label: field.label,
    placeholder: field.placeholder,
    required: field.required,
  })),
});

const describeText = (limit: TextLimit): NetworkView['texts'][number] => ({
  unit: limit.unit,
  limit: limit.max,
  link_length: limit.linkLength,
  counting: limit.counting,
});

function describeFiles(kinds: readonly FileKind[]): NetworkView['files'] {
  const named = new Set(kinds.flatMap(({ types }) => types));
  /** A type listed by name belongs to that kind, and not to the kind with `image/*`. */
  const isOf = (type: string, { types }: FileKind): boolean =>
    types.includes(type) || (!named.has(type) && types.includes(type.replace(/\/.*$/sv, '/*')));
  return kinds.flatMap((kind) => {
    const types = libraryTypes.filter((type) => isOf(type, kind));
    return kind.max > 0 && types.length > 0 ? [describeFile(kind, types)] : [];
  });
}

const describeFile = (kind: FileKind, types: readonly string[]): NetworkView['files'][number] => ({
  kind: kind.one,
  types,
  min_count: kind.min ?? 0,
  max_count: kind.max,
  min_bytes: kind.minBytes ?? null,
  max_bytes: Math.min(kind.maxBytes ?? Infinity, maxFileBytes),
  max_pixels: kind.maxPixels ?? null,
  min_side: kind.minSide ?? null,
  max_longer_side: kind.maxSides?.[0] ?? null,
  max_shorter_side: kind.maxSides?.[1] ?? null,
  max_aspect_ratio: kind.maxAspect ?? null,
  max_frames: kind.maxFrames ?? null,
  max_pixels_of_all_frames: kind.maxPixelsOfAllFrames ?? null,
  max_frame_rate: kind.maxFrameRate ?? null,
  min_duration_ms: kind.minDurationMs ?? null,
  max_duration_ms: kind.maxDurationMs ?? null,
  max_alt_text: kind.maxAltText ?? null,
});
