import { defineConfig } from 'rolldown'

export default defineConfig({
  input: 'src/main.ts',
  platform: 'node',
  transform: { target: 'node20.12' },
  output: {
    dir: 'dist',
    cleanDir: true,
    chunkFileNames: '[name].js',
    // Smaller files parse faster. Names stay for the stack traces of --debug.
    minify: { compress: true, mangle: { keepNames: true } },
  },
})
