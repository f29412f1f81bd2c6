import { defineConfig } from 'vitest/config'

// These tests need an installed Xinference: run `npm run test:xinference`.
export default defineConfig({
  test: {
    name: 'xinference',
    include: ['server/test/xinference/real/**/*.test.ts'],
    expect: { poll: { timeout: 30_000 } },
    testTimeout: 900_000,
    hookTimeout: 900_000,
    maxWorkers: 1,
  },
})
