import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import test, { type ExecutionContext } from 'ava';
import { choosePorts } from '../../scripts/ports.ts';
import { freePort } from '../support/free-port.ts';

async function takenPort(t: ExecutionContext): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
  return (server.address() as AddressInfo).port;
}

test('a port that a person has set and that is taken is named, with the setting that changes it', async (t) => {
  const fixed = await takenPort(t);
  const error = await t.throwsAsync(
    choosePorts({ api: { what: 'the API', variable: 'PORT', fixed } }),
  );
  t.is(
    error.message,
    `Port ${fixed} is in use, and the API needs it. Stop what uses it, or set PORT to another port.`,
  );
});

test('a part keeps its port of the last start while that is free', async (t) => {
  const preferred = await freePort();
  const ports = await choosePorts({ ui: { what: 'the UI', variable: 'UI_PORT', preferred } });
  t.is(ports.ui, preferred);
});

test('a part whose port of the last start is taken gets another one', async (t) => {
  const preferred = await takenPort(t);
  const ports = await choosePorts({ ui: { what: 'the UI', variable: 'UI_PORT', preferred } });
  t.not(ports.ui, preferred);
  t.true(ports.ui > 0);
});

test('two parts that prefer the same port get two', async (t) => {
  const preferred = await freePort();
  const wish = { what: 'a part', variable: 'A_PORT', preferred };
  const ports = await choosePorts({ one: wish, two: wish });
  t.is(ports.one, preferred);
  t.not(ports.two, preferred);
});

test('a port set for two parts is refused', async (t) => {
  const fixed = await freePort();
  const wishes = {
    api: { what: 'the API', variable: 'PORT', fixed },
    ui: { what: 'the UI', variable: 'UI_PORT', fixed },
  };
  await t.throwsAsync(choosePorts(wishes), { message: /the UI needs it/v });
});
