import { startGuard } from '../../scripts/parts/guard.ts';
import type { Ending } from '../../scripts/parts/processes.ts';

// Watches the process that its argument describes until this process is killed: node keeper.ts JSON.
startGuard().watch(JSON.parse(process.argv[2] ?? '') as Ending, 0);
setInterval(() => undefined, 1000);
console.log('watching');
