import { Ajv } from 'ajv';
import formats from 'ajv-formats';
import test from 'ava';
import type { NetworkView } from '../../api/networks/routes.ts';
import { openNetworks, platforms } from '../../networks/registry.ts';
import { contentOf, image, textOf, times, video } from '../networks/content.ts';
import { sharedApi } from '../support/kit.ts';
import { storeChannel } from '../support/seed.ts';

const api = sharedApi(test);

async function described(): Promise<ReadonlyMap<string, NetworkView>> {
  const { networks } = (await (await api.newClient()).get('/networks')).body;
  return new Map(networks.map((network: NetworkView) => [network.platform, network]));
}

for (const platform of platforms) {
  const rules = openNetworks({}).rules[platform];
  const needed = { made_for_kids: false, title: 'x' };

  test(`${platform}: a text of the described length is accepted, and one more character is not`, async (t) => {
    const network = (await described()).get(platform);
    t.is(network?.threads, rules.threads);
    for (const { limit } of network?.texts ?? []) {
      const errors = (length: number) =>
        rules.validate(
          contentOf({ texts: ['x'.repeat(length)], media: [video()], video: needed }),
          {},
        ).errors;
      const isFirst = limit === Math.min(...(network?.texts ?? []).map((one) => one.limit));
      t.is(errors(limit).length === 0, isFirst);
      t.true(errors(limit + 1).length > 0);
    }

    t.true((network?.texts.length ?? 0) > 0);
  });

  test(`${platform}: the described number of files is accepted, and one more is not`, async (t) => {
    const network = (await described()).get(platform);
    for (const { kind, types, max_count: most } of network?.files ?? []) {
      const type = types[0]?.replace('*', kind === 'video' ? 'mp4' : 'png') ?? '';
      const one = kind === 'video' ? video({ type }) : image({ type });
      const errors = (count: number) =>
        rules.validate(contentOf({ texts: ['x'], media: times(count, one), video: needed }), {})
          .errors;
      t.deepEqual(errors(most), [], kind);
      t.regex(errors(most + 1)[0] ?? '', new RegExp(`takes .*there are ${most + 1} `, 'v'));
    }

    t.true((network?.files.length ?? 0) > 0);
  });

  test(`${platform}: its options are a JSON Schema, with a description of each`, async (t) => {
    const { options } = (await described()).get(platform) ?? {};
    const ajv = new Ajv({ strict: true, allowUnionTypes: true });
    formats.default(ajv, ['uuid', 'date', 'date-time', 'uri']);
    const fits = ajv.compile(options ?? {});
    t.true(fits({}));
    t.false(fits({ nothing: 1 }));
    for (const [name, one] of Object.entries(rules.options.properties)) {
      t.regex((one as { description?: string }).description ?? '', /^[A-Z].*\.$/sv, name);
    }
  });
}

test('no described file is larger than the media library accepts, or of another type', async (t) => {
  const library = /^(?:image\/(?:jpeg|png|gif|webp)|video\/(?:mp4|quicktime|webm))$/v;
  const networks = await described();
  for (const platform of platforms) {
    const { files } = networks.get(platform) ?? { files: [] };
    t.true(files.length > 0, platform);
    for (const { kind, types, max_bytes: most } of files) {
      t.true((most ?? Infinity) <= 200 * 1024 * 1024, `${platform} ${kind}`);
      t.true(types.length > 0 && types.every((type) => library.test(type)), `${types}`);
    }
  }

  const [anyVideo] = networks.get('youtube')?.files ?? [];
  t.deepEqual(anyVideo?.types, ['video/mp4', 'video/quicktime', 'video/webm']);
  const bluesky = networks.get('bluesky')?.files.find(({ kind }) => kind === 'image');
  t.true((bluesky?.max_bytes ?? Infinity) < 200 * 1024 * 1024); // A smaller limit of the network is kept.
});

test('required fields are described, and a post without them is refused', async (t) => {
  t.deepEqual((await described()).get('youtube')?.required, ['video.made_for_kids']);
  const { validate } = openNetworks({}).rules.youtube;
  const [error = ''] = validate(contentOf({ texts: ['x'], media: [video()] }), {}).errors;
  t.regex(error, /video\.made_for_kids/v);
});

test('with a channel the limits are those of its own server', async (t) => {
  const client = await api.newClient();
  const settings = { maxCharacters: 5000, charactersReservedPerUrl: 25, maxMediaAttachments: 6 };
  const channel = await storeChannel(api.punctual, client.workspaceId, { settings });
  const { networks } = (await client.get(`/networks?channel_id=${channel}`)).body;
  t.is(networks.length, 1);
  const texts = [
    { limit: 5000, unit: 'characters', link_length: 25 },
    { limit: 250_000, unit: 'bytes', link_length: 25 },
  ];
  t.like(networks[0], { platform: 'mastodon', texts });
  t.is(networks[0].files[0].max_count, 6);
  const { validate } = openNetworks({}).rules.mastodon;
  t.deepEqual(validate(textOf('x'.repeat(5000)), settings).errors, []);
});
