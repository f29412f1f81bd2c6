import { defineConfig } from 'vitest/config'

// Tests against a real control plane, the one of KUBECONFIG; without it they are skipped.
export default defineConfig({
  test: {
    name: 'kubernetes',
    include: ['server/test/kubernetes/**/*.test.ts'],
    globalSetup: ['server/test/support/global-setup.ts'],
    testTimeout: 300_000,
    hookTimeout: 300_000,
    maxWorkers: 1,
  },
})
