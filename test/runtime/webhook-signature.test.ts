import { spawnSync } from 'node:child_process';
import test from 'ava';
import { webhookSignature } from '../../runtime/webhook-signature.ts';
import { isSignedWith } from '../support/receiver.ts';

const bodies = [
  '',
  'hello !',
  '{"id":"evt_1","type":"post.published"}',
  '{"text":"héllo 🌍 日本"}',
  'line\r\nline\n\ttab . dots ... \\ "quotes"',
  '\u2028\u2029\u0000',
  'x'.repeat(100_000),
];

test('the signature is that of a published vector of the same construction', (t) => {
  // Hook0's v0 scheme: output-worker/src/work.rs.
  t.is(
    webhookSignature('secret', 1_636_936_200, 'hello !'),
    'sha256=1b3d69df55f1e52f05224ba94a5162abeb17ef52cd7f4948c390f810d6a87e98',
  );
});

test('Web Crypto, and openssl where a machine has it, agree on every body', async (t) => {
  const secret = 'whsec_0123456789abcdefghijABCDEFGHIJ01';
  const hasOpenssl = spawnSync('openssl', ['version']).status === 0;
  t.log(hasOpenssl ? 'compared with openssl too' : 'no openssl on this machine');
  for (const body of bodies) {
    const signature = webhookSignature(secret, 1_700_000_000, body);
    const headers = { 'service-timestamp': '1700000000', 'service-signature': signature };
    t.true(await isSignedWith(secret, { headers, body }), body.slice(0, 40));
    if (hasOpenssl) {
      const input = `1700000000.${body}`;
      const { stdout } = spawnSync('openssl', ['dgst', '-sha256', '-hmac', secret], { input });
      const hex = stdout.toString('utf8').trim().split(' ').at(-1);
      t.is(signature, `sha256=${hex}`, body.slice(0, 40));
    }
  }
});

test('another secret, time or body signs otherwise', (t) => {
  const signatures = [
    webhookSignature('whsec_a', 1_700_000_000, 'x'),
    webhookSignature('whsec_b', 1_700_000_000, 'x'),
    webhookSignature('a', 1_700_000_000, 'x'),
    webhookSignature('whsec_a', 1_700_000_001, 'x'),
    webhookSignature('whsec_a', 1_700_000_000, 'y'),
    webhookSignature('whsec_a', 170_000_000, '0.x'),
  ];
  t.is(new Set(signatures).size, signatures.length);
  t.true(signatures.every((signature) => /^sha256=[0-9a-f]{64}$/v.test(signature)));
});
