import { defineConfig } from 'vitest/config'

// These tests need a Kubernetes control plane, named by KUBECONFIG. Without it they are skipped.
export default defineConfig({
  test: {
    name: 'kubernetes',
    include: ['server/test/kubernetes/{cluster,nodes}/**/*.test.ts'],
    globalSetup: ['server/test/support/global-setup.ts'],
    expect: { poll: { timeout: 30_000 } },
    // Losing an engine four times takes eight minutes.
    testTimeout: 900_000,
    hookTimeout: 300_000,
    maxWorkers: 1,
  },
})
