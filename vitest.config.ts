import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: 'unit',
          include: ['server/src/**/*.test.ts', 'engine/src/**/*.test.ts', 'bench/*.test.ts'],
        },
      },
      {
        test: {
          name: 'system',
          include: ['server/test/**/*.test.ts', 'engine/test/**/*.test.ts'],
          exclude: ['server/test/kubernetes/**'],
          globalSetup: ['server/test/support/global-setup.ts'],
          testTimeout: 60_000,
          hookTimeout: 60_000,
          maxWorkers: 2,
        },
      },
    ],
  },
})
