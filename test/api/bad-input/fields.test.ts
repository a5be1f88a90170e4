import test from 'ava';
import { sharedApi } from '../../support/kit.ts';
import { silentPort } from '../owned.ts';
import { allAreRefused, onPosts, type BadCall } from './refuse.ts';
import { files, posts, webhooks, type BadField } from './wrong-values.ts';

const call = (
  [method, path]: readonly [string, string],
  base: object,
  { field, value, code, place = `/${field}` }: BadField,
): BadCall => ({
  title: `${field} ${String(JSON.stringify(value)).slice(0, 60)}`,
  method,
  path,
  body: { ...base, [field]: value },
  code: code ?? 'invalid_request',
  places: Array.isArray(place) ? place : [String(place)],
});

const api = sharedApi(test, { allowPorts: [silentPort] });

test('each call for posts refuses an invalid value of a field, and names the field', (t) =>
  allAreRefused(t, api, (owned) =>
    onPosts(owned).flatMap((to) =>
      posts.map((bad) => call(to, { body: 'x', channel_ids: [owned.channel] }, bad)),
    ),
  ));

test('null is refused for fields that an edit cannot clear', (t) =>
  allAreRefused(t, api, (owned) =>
    onPosts(owned)
      .filter(([method]) => method === 'PATCH')
      .flatMap((to) =>
        ['channel_ids', 'schedule_in_minutes', 'media_urls'].map((field) =>
          call(to, { body: 'x' }, { field, value: null }),
        ),
      ),
  ));

test('an edit refuses an idempotency key', (t) =>
  allAreRefused(t, api, (owned) =>
    onPosts(owned)
      .filter(([method]) => method === 'PATCH')
      .map((to) => call(to, { body: 'x' }, { field: 'idempotency_key', value: 'k' })),
  ));

test('an idempotency key that is empty, too long or not text is refused', (t) =>
  allAreRefused(t, api, () => [
    ...['', 'x'.repeat(256), 'é'.repeat(256), 'a\0', 'a\ud800', 1, [], {}].map((value) =>
      call(['POST', '/posts'], { body: 'x' }, { field: 'idempotency_key', value }),
    ),
    ...['', ' ', 'x'.repeat(256), 'x'.repeat(8000)].map((key): BadCall => ({
      title: `a header of ${key.length} characters`,
      method: 'POST',
      path: '/posts',
      headers: { 'idempotency-key': key },
      body: { body: 'x' },
      code: 'invalid_request',
    })),
    {
      title: 'two keys',
      method: 'POST',
      path: '/posts',
      headers: { 'idempotency-key': 'one' },
      body: { body: 'x', idempotency_key: 'two' },
      code: 'invalid_request',
    },
  ]));

test('an invalid value of a field of a file is refused, and the field named', (t) =>
  allAreRefused(t, api, ({ media }) =>
    files.map((bad) => call(['PATCH', `/media/${media}`], {}, bad)),
  ));

test('an invalid value of a field of a channel is refused, and the field named', (t) =>
  allAreRefused(t, api, ({ channel }) => {
    const to = ['PATCH', `/channels/${channel}`] as const;
    const code = 'invalid_channel_options' as const;
    return [
      ...[1, 'x', true, []].map((value) => call(to, {}, { field: 'options', value })),
      ...['handle', 'state', 'settings', 'constructor'].map((field) =>
        call(to, {}, { field, value: 'x' }),
      ),
      call(to, {}, { field: 'options', value: { toString: 1 }, code, place: '/options/toString' }),
      call(to, {}, { field: 'options', value: { language: 1 }, code, place: '/options/language' }),
    ];
  }));

test('an invalid value of a field of a webhook endpoint is refused, and the field named', (t) =>
  allAreRefused(t, api, ({ webhook }) => {
    const base = { url: 'https://8.8.8.8/hook', events: ['post.failed'] };
    return [
      ...webhooks.flatMap((bad) => [
        call(['POST', '/webhooks'], base, bad),
        call(['PATCH', `/webhooks/${webhook}`], {}, bad),
      ]),
      call(['POST', '/webhooks'], base, { field: 'secret', value: 'whsec_mine' }),
      call(['PATCH', `/webhooks/${webhook}`], {}, { field: 'secret', value: 'whsec_mine' }),
      call(['PATCH', `/webhooks/${webhook}`], {}, { field: 'id', value: webhook }),
      ...[0, 1, 'true', 'false', null, [], {}].map((value) =>
        call(['PATCH', `/webhooks/${webhook}`], {}, { field: 'enabled', value }),
      ),
      call(['POST', '/webhooks'], base, { field: 'enabled', value: false }),
    ];
  }));
