import type { Json } from '../../domain/json-schema.ts';
import type { OauthEntry } from '../../networks/oauth.ts';
import type { Rules } from '../../networks/content-rules.ts';
import type { FileKind, TextLimit } from '../../networks/validation/limits.ts';
import type { NetworkView } from './schemas.ts';

/** What a client needs to build a post that a network takes: the same limits that the network's rules validate by. */
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
    files: files.filter(({ max }) => max > 0).map(describeFiles),
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

const describeFiles = (kind: FileKind): NetworkView['files'][number] => ({
  kind: kind.one,
  types: kind.types,
  min_count: kind.min ?? 0,
  max_count: kind.max,
  min_bytes: kind.minBytes ?? null,
  max_bytes: kind.maxBytes ?? null,
  max_pixels: kind.maxPixels ?? null,
  max_aspect_ratio: kind.maxAspect ?? null,
  min_duration_ms: kind.minDurationMs ?? null,
  max_duration_ms: kind.maxDurationMs ?? null,
  max_alt_text: kind.maxAltText ?? null,
});
