import { TestWorkflowEnvironment } from '@temporalio/testing';

// Downloads a server the way the SDK does for its own tests: node download-with-sdk.ts KIND FOLDER.
// The SDK cannot only download, so the server is started for a moment too.
const [, , what, downloadDir = ''] = process.argv;
const server = { executable: { type: 'cached-download', downloadDir } } as const;
try {
  const environment =
    what === 'temporal'
      ? await TestWorkflowEnvironment.createLocal({ server })
      : await TestWorkflowEnvironment.createTimeSkipping({ server });
  await environment.teardown();
} catch (error) {
  // One line, which becomes the reason that a person reads.
  console.error(error instanceof Error ? error.message.replaceAll(/\s+/gv, ' ') : error);
  process.exitCode = 1;
}
