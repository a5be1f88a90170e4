import { createServer } from 'node:http';
import type { Received } from './world.ts';

// Runs as a process: responds to webhooks with 204 immediately, or never if their path starts with /hang/. Records
// their times, and returns them for a GET.

const arrivals: [string, number][] = [];
const silent = { now: 0, most: 0 };

const server = createServer((request, response) => {
  const { method, url = '', headers } = request;
  if (method !== 'POST') {
    const received: Received = { arrivals, mostSilent: silent.most };
    response.end(JSON.stringify(received));
    return;
  }

  arrivals.push([`${url} ${String(headers['service-event-id'])}`, Date.now()]);
  request.resume();
  if (!url.startsWith('/hang/')) {
    response.writeHead(204).end();
    return;
  }

  silent.now += 1;
  silent.most = Math.max(silent.most, silent.now);
  response.on('close', () => {
    silent.now -= 1;
  });
});
server.keepAliveTimeout = 60_000;
server.listen(Number(process.env['PORT']), '127.0.0.1');
process.on('SIGTERM', () => process.exit(0));
