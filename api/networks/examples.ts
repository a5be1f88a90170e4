import type { Examples } from '../http/route.ts';
import type { NetworkView } from './schemas.ts';

const mastodon: NetworkView = {
  platform: 'mastodon',
  threads: true,
  first_comment: false,
  can_unpublish: true,
  texts: [
    {
      unit: 'characters',
      limit: 500,
      link_length: 23,
      counting: 'Grapheme clusters: characters as people see them.',
    },
  ],
  files: [
    {
      kind: 'image',
      types: ['image/jpeg', 'image/png', 'image/gif', 'image/webp'],
      min_count: 0,
      max_count: 4,
      min_bytes: null,
      max_bytes: 16_777_216,
      max_pixels: 33_177_600,
      min_side: null,
      max_longer_side: null,
      max_shorter_side: null,
      max_aspect_ratio: null,
      max_frames: null,
      max_pixels_of_all_frames: null,
      max_frame_rate: null,
      min_duration_ms: null,
      max_duration_ms: null,
      max_alt_text: 1500,
    },
  ],
  required: [],
  connect: {
    configured: true,
    fields: [
      {
        name: 'url',
        label: 'Your server',
        placeholder: 'https://mastodon.social',
        required: true,
      },
    ],
  },
  options: {
    type: 'object',
    additionalProperties: false,
    properties: {
      visibility: {
        type: 'string',
        enum: ['public', 'unlisted', 'private', 'direct'],
        description: 'Who sees the post.',
      },
    },
  },
};

export const networkExamples: Examples = {
  mastodon: { summary: 'A network, shortened', value: { networks: [mastodon] } },
};
