// Receives events, each once, also over restarts: WEBHOOK_SECRET=whsec_… node webhook-receiver.ts
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { verifyWebhook, WebhookError } from '@punctual/client';

const secret = process.env['WEBHOOK_SECRET'];
if (!secret) {
  throw new Error('Set WEBHOOK_SECRET to the signing secret of the webhook endpoint.');
}

// Take a table of your database instead, and write to it in the transaction of your work.
const file = 'handled-events.txt';
const handled = new Set(existsSync(file) ? readFileSync(file, 'utf8').split('\n') : []);

const server = createServer(async (request, response) => {
  try {
    const event = await verifyWebhook(await buffer(request), request.headers, secret);
    if (!handled.has(event.id)) {
      if (event.type === 'post.failed' || event.type === 'post.partial') {
        for (const { handle, error } of event.data.post.channels) {
          console.log(`${event.type} ${handle}: ${error ?? 'published'}`);
        }
      } else {
        console.log(event.type);
      }

      handled.add(event.id);
      appendFileSync(file, `${event.id}\n`);
    }

    response.writeHead(204).end();
  } catch (error) {
    console.error(error);
    response.writeHead(error instanceof WebhookError ? 400 : 500).end();
  }
});
server.listen(Number(process.env['PORT'] ?? 4000), '127.0.0.1');
