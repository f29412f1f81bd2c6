import { defineConfig } from 'vitest/config'

// These tests need a host with an idle NVIDIA GPU: run `npm run test:gpu`.
export default defineConfig({
  test: {
    name: 'gpu',
    include: ['server/test/gpu/**/*.test.ts'],
    globalSetup: ['server/test/support/global-setup.ts'],
    testTimeout: 900_000,
    hookTimeout: 900_000,
    maxWorkers: 1,
  },
})
