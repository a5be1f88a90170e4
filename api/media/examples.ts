import type { Examples } from '../http/route.ts';
import type { MediaView } from './schemas.ts';

const link = 'https://punctual.example/files';

const picture: MediaView = {
  id: '0192f0c1-2b4d-7e6f-8a90-1c3d5e7f9b0a',
  type: 'image/jpeg',
  url: `${link}/q1W2e3R4t5Y6u7I8o9P0a1S2d3F4g5H6/harbour.jpg`,
  name: 'harbour.jpg',
  size_bytes: 482_113,
  width: 1600,
  height: 1067,
  duration_ms: null,
  alt_text: 'Fishing boats in a harbour, at dusk.',
  created_at: '2027-02-28T16:20:00.000Z',
};

const clip: MediaView = {
  id: '0192f0c3-7d1e-7a2b-9c4d-5e6f7a8b9c0d',
  type: 'video/mp4',
  url: `${link}/Z9y8X7w6V5u4T3s2R1q0P9o8N7m6L5k4/regatta.mp4`,
  name: 'regatta.mp4',
  size_bytes: 18_204_551,
  width: 1920,
  height: 1080,
  duration_ms: 24_500,
  alt_text: null,
  created_at: '2027-02-28T17:05:00.000Z',
};

export const fileList: Examples = {
  library: { summary: 'Two files', value: { media: [clip, picture], next_cursor: null } },
};

export const singleFile: Examples = {
  picture: { summary: 'A picture', value: { media: picture } },
};

export const describedFile: Examples = {
  altText: { summary: 'An alt text', value: { alt_text: picture.alt_text } },
};

export const deletedFile: Examples = {
  deleted: { summary: 'Deleted', value: { ok: true, id: picture.id } },
};
