import { createServer, type ServerResponse } from 'node:http';
import type { ExecutionContext } from 'ava';
import { openBrowser } from '../../api/connect/person.ts';
import { linkFor } from '../../api/connect/world.ts';
import { must, type Attack } from '../attack.ts';
import { listening } from '../../support/listening.ts';

type Answer = (response: ServerResponse) => void;

const json =
  (status: number, body: () => string): Answer =>
  (response) =>
    response.writeHead(status, { 'content-type': 'application/json' }).end(body());

/** Below the 2 MiB that are read of an answer. */
const length = 1_900_000;
const message = (word: string) =>
  json(400, () =>
    JSON.stringify({
      error: 'Wrong',
      message: word.repeat(length / (JSON.stringify(word).length - 2)),
    }),
  );

/** Answers of a Bluesky server that a person chose, each below a path of its own. */
const answers: Readonly<Record<string, Answer>> = {
  'message-of-words': message('record '),
  'message-of-brackets': message('<'),
  'message-of-escapes': message('\u0000'),
  'deep-json': json(200, () => `{"didDoc":${'{"a":'.repeat(250_000)}1${'}'.repeat(250_001)}`),
  'deep-error': json(400, () => `${'['.repeat(900_000)}${']'.repeat(900_000)}`),
  'endless-body': (response) => {
    const chunk = 'x'.repeat(65_536);
    const send = (): unknown => !response.destroyed && response.write(chunk, () => void send());
    send();
  },
};

/** Starts the server on the loopback. @returns its host and port. */
export async function startHostileServer(t: ExecutionContext): Promise<string> {
  const server = createServer((request, response) => {
    request.resume();
    answers[request.url?.split('/')[1] ?? '']?.(response);
  });
  const port = await listening(t, server);
  return `127.0.0.1:${port}`;
}

export const serverAttacks: readonly Attack[] = Object.keys(answers).map((name) => ({
  name: `Bluesky server: ${name}`,
  run: async ({ url, attacker, hostileServer }) => {
    const link = await linkFor(attacker, { platform: 'bluesky' });
    const browser = openBrowser(url);
    const filled = {
      url: `http://${hostileServer}/${name}`,
      handle: 'ana.example',
      'app-password': 'abcd-efgh-ijkl-mnop',
    };
    const { status, text } = await browser.submit(await browser.get(link), 'secret', filled);
    return [
      ...must(status === 400 && text.includes('The Bluesky server'), `answered with ${status}`),
      ...must(text.length < 20_000, `its page has ${text.length} characters`),
    ];
  },
}));
