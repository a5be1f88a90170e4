import {
  fromJsonSchema,
  McpServer,
  type CallToolResult,
  type JsonSchemaValidator,
  type jsonSchemaValidator,
} from '@modelcontextprotocol/server';
import { AppError } from '../domain/errors.ts';
import { withLowerIds } from '../domain/json-schema.ts';
import { parser } from '../runtime/parser.ts';
import { version } from '../runtime/version.ts';
import { ConnectionError, PunctualError, type Punctual } from '../sdk/src/index.ts';
import { withTools } from './present.ts';
import { tools } from './tools.ts';

const instructions =
  'Punctual schedules posts on social networks. Ask list_channels for the ids of accounts first. A post without a time is a draft; one with a time is published then without another question. Check with validate_post or dry_run. Long texts are cut in answers; get_post with full has them.';

/** Accepts everything: `parser` says what is wrong in our own sentences, and tests check the answers. */
const unchecked: jsonSchemaValidator = {
  getValidator:
    <T>(): JsonSchemaValidator<T> =>
    (data) => ({ valid: true, data: data as T, errorMessage: undefined }),
};

// Once for the process, since each request has a server of its own.
const prepared = tools.map((tool) => ({
  tool,
  parse: parser(tool.input, { what: `The input of ${tool.name}` }),
  config: {
    title: tool.title,
    description: tool.description,
    inputSchema: fromJsonSchema(tool.input as object, unchecked),
    outputSchema: fromJsonSchema(tool.output as object, unchecked),
    annotations: tool.annotations,
  },
}));

/**
 * Makes a server for one request or connection: a used server keeps a handler of each request (typescript-sdk #2607).
 *
 * @param report Gets errors that are neither refusals nor lost connections.
 */
export function createMcpServer(client: Punctual, report: (error: unknown) => void): McpServer {
  const server = new McpServer(
    { name: 'punctual', title: 'Punctual', version },
    { instructions, capabilities: { tools: { listChanged: false } } },
  );
  for (const { tool, parse, config } of prepared) {
    server.registerTool(tool.name, config, async (args, { mcpReq: { signal } }) => {
      try {
        const input = parse(withLowerIds(args ?? {})) as never;
        return answerOf(await tool.run(client, input, signal));
      } catch (error) {
        const refusal = sentenceOf(error);
        if (refusal === null && !signal.aborted) {
          report(error);
        }

        return { content: [{ type: 'text', text: refusal ?? broken }], isError: true };
      }
    });
  }

  return server;
}

const broken = 'Something went wrong in the MCP server of Punctual. Tell its operator.';

const answerOf = (result: object): CallToolResult => ({
  content: [{ type: 'text', text: JSON.stringify(result) }],
  structuredContent: result as Record<string, unknown>,
});

function sentenceOf(error: unknown): string | null {
  if (error instanceof PunctualError) {
    const request = error.requestId === null ? '' : `, request ${error.requestId}`;
    return `${withTools(error.message)} (${error.code}${request})`;
  }

  if (error instanceof ConnectionError) {
    const next = error.mayHaveHappened
      ? ' It may have had its effect: repeat it with the same idempotency_key, or look first.'
      : '';
    return `${error.message}${next}`;
  }

  return error instanceof AppError ? `${error.message} (${error.code})` : null;
}
