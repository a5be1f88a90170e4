export { deliverWebhook } from './deliver-webhook.ts';
export { refreshMetrics, sweepPosts } from './periodic.ts';
export { publishPost } from './publish-post.ts';
export { unpublishPost } from './unpublish-post.ts';
