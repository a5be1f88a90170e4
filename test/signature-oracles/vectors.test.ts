import test from 'ava';
import { Webhook } from 'standardwebhooks';
import { standardSignature, webhookSignature } from '../../runtime/webhook-signature.ts';
import { byOpenssl, byPython } from './hmac-programs.ts';
import { needs } from '../support/needs.ts';

/** GitHub's, "Validating webhook deliveries": an HMAC alone, without a time. */
const github = {
  secret: "It's a Secret to Everybody",
  body: 'Hello, World!',
  hex: '757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17',
};

const title = (who: string): string =>
  `${who} is an oracle: it makes the signature that GitHub has published`;
const [key, message] = [Buffer.from(github.secret), Buffer.from(github.body)];

needs('openssl')(title('openssl'), async (t) => {
  t.is(await byOpenssl(key, message), github.hex);
});

needs('python')(title("Python's hmac"), async (t) => {
  t.is(await byPython(t)(key, message), github.hex);
});

test('signatures are those that Hook0 has published of the same construction, and those of our own vectors', (t) => {
  const secret = 'whsec_test_secret_1';
  const vectors = [
    // output-worker/src/work.rs of Hook0, its v0 scheme.
    {
      secret: 'secret',
      at: 1_636_936_200,
      body: 'hello !',
      hex: '1b3d69df55f1e52f05224ba94a5162abeb17ef52cd7f4948c390f810d6a87e98',
    },
    // Made with Python's hmac.
    {
      secret,
      at: 1_700_000_000,
      body: '{"id":"evt_1","type":"post.published"}',
      hex: '925d7cca6f2610983495e289b8a388f9e7f2877677e808519e715dd767f0760f',
    },
    {
      secret,
      at: 1_700_000_000,
      body: '{"text":"héllo 🌍 日本"}',
      hex: '9ea93bfd708da9f5e71b90a9476c9d0b65b5cbef6bc3f8707d2cd06f076d2b1a',
    },
  ];
  for (const vector of vectors) {
    t.is(webhookSignature(vector.secret, vector.at, vector.body), `sha256=${vector.hex}`);
  }
});

test('the other signature is the one that Standard Webhooks has published', (t) => {
  const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
  const signed = {
    id: 'msg_p5jXN8AQM9LWM0D4loKWxJek',
    timestamp: 1_614_265_330,
    body: '{"test": 2432232314}',
  };
  t.is(standardSignature(secret, signed), 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=');
});

test('a secret of ours is a key of 24 bytes for the library of Standard Webhooks, whatever its letters', (t) => {
  const letters = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
  const signed = { id: 'evt_1', timestamp: 1_700_000_000, body: '{"text":"日本"}' };
  for (let from = 0; from < letters.length; from += 1) {
    const secret = `whsec_${`${letters}${letters}`.slice(from, from + 32)}`;
    const theirs = new Webhook(secret);
    const at = new Date(signed.timestamp * 1000);
    t.is(standardSignature(secret, signed), theirs.sign(signed.id, at, signed.body));
    t.is(Buffer.from(secret.slice(6), 'base64').length, 24);
  }
});
