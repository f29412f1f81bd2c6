import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: 'unit',
          include: [
            'server/src/**/*.test.ts',
            'engine/src/**/*.test.ts',
            'payment-sandbox/src/**/*.test.ts',
            'console/src/**/*.test.ts',
            'bench/*.test.ts',
            'scripts/**/*.test.ts',
          ],
        },
      },
      {
        test: {
          name: 'system',
          include: [
            'server/test/**/*.test.ts',
            'engine/test/**/*.test.ts',
            'payment-sandbox/test/**/*.test.ts',
          ],
          exclude: [
            'server/test/kubernetes/{cluster,nodes}/**',
            'server/test/xinference/real/**',
            'server/test/vllm/**',
            'server/test/gpu/**',
          ],
          globalSetup: ['server/test/support/global-setup.ts'],
          expect: { poll: { timeout: 30_000 } },
          testTimeout: 60_000,
          hookTimeout: 60_000,
          maxWorkers: 2,
        },
      },
      {
        test: {
          name: 'console',
          include: ['console/test/**/*.test.ts'],
          globalSetup: ['server/test/support/global-setup.ts'],
          expect: { poll: { timeout: 60_000 } },
          testTimeout: 240_000,
          hookTimeout: 300_000,
          maxWorkers: 1,
          // Browsers want the machine for themselves.
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
})
