export { deliverWebhook } from './deliver-webhook.ts';
export { publishPost } from './publish-post.ts';
