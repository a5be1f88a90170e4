import { scheduledPost } from '../posts/examples.ts';

const event = {
  id: '0192f0d8-4df2-7a05-9c1e-7b3f6d8a2e57',
  type: 'post.scheduled',
  created_at: '2027-02-20T14:05:11.482Z',
  workspace_id: '0192f09f-3b6d-7c81-9e2a-4f8d1c5b7a60',
  data: { post: scheduledPost },
  sequence: 42,
  post_id: scheduledPost.id,
  channel_id: null,
};

export const page = {
  summary: 'One new event',
  value: { events: [event], next_after: 42, has_more: false, missed: null },
};

export const none = {
  summary: 'Nothing new, after a long absence',
  value: { events: [], next_after: 42, has_more: false, missed: { from: 12, to: 42 } },
};

const { id, type, created_at, workspace_id, data } = event;

export const one = {
  summary: 'With its body as text',
  value: {
    event: { ...event, body: JSON.stringify({ id, type, created_at, workspace_id, data }) },
  },
};
