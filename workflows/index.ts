export { deliverWebhook } from './deliver-webhook.ts';
export { publishPost } from './publish-post.ts';
export { refreshMetrics } from './refresh-metrics.ts';
export { sweepPosts } from './sweep-posts.ts';
