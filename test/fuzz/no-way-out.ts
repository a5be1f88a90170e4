import type { EgressOptions } from '../../runtime/egress/create-egress.ts';

/**
 * Resolves no name and refuses every connection. The fuzzer makes up URLs, some with public addresses, and must send
 * requests only to the API.
 */
export const noWayOut: Required<Pick<EgressOptions, 'resolve' | 'connectTo'>> = {
  resolve: async () => [],
  connectTo: () => (_options, callback) => {
    const refused = Object.assign(new Error('The fuzzer refuses all connections.'), {
      code: 'ECONNREFUSED',
    });
    setImmediate(() => callback(refused, null));
  },
};
