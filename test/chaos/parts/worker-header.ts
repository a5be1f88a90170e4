/** Which worker asks a network. The line before the network reads it and does not pass it on. */
export const workerHeader = 'x-chaos-worker';
