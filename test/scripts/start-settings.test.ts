import test from 'ava';
import { readStartSettings } from '../../scripts/start-settings.ts';

test('with nothing set, the API is on port 3000 of the loopback and everything else is brought along', (t) => {
  const settings = readStartSettings({});
  t.like(settings, { host: '127.0.0.1', apiPort: 3000, temporalNamespace: 'default' });
  t.is(settings.databaseUrl, undefined);
  t.is(settings.temporalAddress, undefined);
});

test('an empty setting counts as not set', (t) => {
  const settings = readStartSettings({ PORT: '', DATABASE_URL: ' ', TEMPORAL_ADDRESS: '' });
  t.is(settings.apiPort, 3000);
  t.is(settings.databaseUrl, undefined);
  t.is(settings.temporalAddress, undefined);
});

test('all ports that are none are named at once', (t) => {
  const env = { PORT: 'http', PUNCTUAL_SANDBOX_PORT: '70000', PUNCTUAL_TEMPORAL_PORT: '0' };
  t.throws(() => readStartSettings(env), {
    message: [
      'PORT must be a port from 1 to 65535, not "http".',
      'PUNCTUAL_TEMPORAL_PORT must be a port from 1 to 65535, not "0".',
      'PUNCTUAL_SANDBOX_PORT must be a port from 1 to 65535, not "70000".',
    ].join('\n'),
  });
});
