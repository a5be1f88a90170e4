/** The version of the interface, not of the program; its major number is the `v1` in every path. */
const version = '1.0.0';

const description = `Schedule social posts and hear what became of them.

**Authentication.** Every call needs \`Authorization: Bearer <API key>\`; keys begin with \`svc_live_\`. Press
*Authorize*, paste yours, and *Try it out* works on every call below.

**Requests.** Bodies are JSON of at most 1 MB. They and the query are read strictly: an unknown field or parameter
is 400 and named. Times come in as RFC 3339 with \`Z\` or an offset, and go out in UTC with milliseconds.

**Answers.** Every answer carries \`X-Request-Id\`. What is not a success is \`{error, code}\`: \`error\` is a
sentence for people, \`code\` is for programs and never changes its meaning, and \`details\` says where it is,
if that can be said. A path that is known but takes another method answers 405 \`method_not_allowed\` with the
\`Allow\` header. A malformed id answers as an unknown one does: 404.

**Limits.** A workspace has at most 10 webhook endpoints; a thread has at most 25 texts.`;

export const info = {
  title: 'Punctual',
  version,
  description,
  license: { name: 'MIT', identifier: 'MIT' },
};

export const securitySchemes = {
  apiKey: {
    type: 'http',
    scheme: 'bearer',
    bearerFormat: 'svc_live_…',
    description: 'An API key of the workspace.',
  },
};
