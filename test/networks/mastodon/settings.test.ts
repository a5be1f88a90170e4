import test from 'ava';
import { mastodonSettings, settingsOf } from '../../../networks/mastodon/settings.ts';

test('a server that tells nothing of its limits has those of Mastodon', (t) => {
  for (const instance of [{}, { configuration: {} }, { configuration: { statuses: {} } }]) {
    t.deepEqual(settingsOf(instance), {});
  }
  t.like(mastodonSettings({}), { maxCharacters: 500, maxMediaAttachments: 4 });
});

test('every limit that a server tells is kept', (t) => {
  const settings = settingsOf({
    configuration: {
      statuses: {
        max_characters: 1,
        max_media_attachments: 2,
        characters_reserved_per_url: 3,
      },
      media_attachments: {
        supported_mime_types: ['image/png'],
        image_size_limit: 4,
        image_matrix_limit: 5,
        video_size_limit: 6,
        video_frame_rate_limit: 7,
        video_matrix_limit: 8,
      },
    },
  });
  t.deepEqual(settings, {
    maxCharacters: 1,
    maxMediaAttachments: 2,
    charactersReservedPerUrl: 3,
    mediaTypes: ['image/png'],
    maxImageBytes: 4,
    maxImagePixels: 5,
    maxVideoBytes: 6,
    maxVideoPixels: 8,
  });
  t.deepEqual(mastodonSettings(settings), settings);
});

test('a limit that a server tells wrong is left out, and its other limits are kept', (t) => {
  const settings = settingsOf({
    configuration: {
      statuses: {
        max_characters: 1000,
        max_media_attachments: -1,
        characters_reserved_per_url: '23',
      },
      media_attachments: {
        supported_mime_types: [],
        image_size_limit: 1.5,
        image_matrix_limit: 0,
        video_size_limit: 1024,
        video_matrix_limit: null,
      },
    },
  });
  t.deepEqual(settings, { maxCharacters: 1000, maxVideoBytes: 1024 });
});

test('of the types that a server takes, images and videos are kept', (t) => {
  const typesIn = (told: unknown) =>
    settingsOf({ configuration: { media_attachments: { supported_mime_types: told } } }).mediaTypes;
  const told = ['audio/ogg', 'image/png', 7, null, { toString: 1 }, 'text/html', 'video/mp4'];
  t.deepEqual(typesIn(told), ['image/png', 'video/mp4']);
  for (const useless of [undefined, 'image/png', ['audio/ogg'], [`image/${'x'.repeat(1000)}`]]) {
    t.is(typesIn(useless), undefined);
  }
  t.is(typesIn(Array.from({ length: 100_000 }, () => 'image/png')), undefined);
});
