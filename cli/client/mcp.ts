import { command } from '../command.ts';

export const mcp = command({
  brief: 'Serves tools for assistants on standard input and output (MCP)',
  description:
    'Serves the tools of docs/guides/mcp.md to an assistant that starts this command. Messages of the protocol alone are on standard output.',
  run: async ({ client: open }) => {
    const client = await open();
    const { serveMcpOverStdio } = await import('../../mcp/stdio.ts');
    await serveMcpOverStdio(client);
    return { data: '', text: '' };
  },
});
