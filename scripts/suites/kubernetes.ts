// Runs the Kubernetes runtime and the manifests on a real cluster: that of KUBECONFIG, or one that the tool
// TEST_CLUSTER makes for the run. docs/testing.md describes both, and the settings for nodes.
import { openCluster } from './cluster.ts'
import { runCommand } from '../../tools/programs.ts'
import { runSuite } from './suite.ts'

await runSuite('kubernetes', async (cleanUps) => {
  const environment = await openCluster(cleanUps)
  const files = process.argv.slice(2)
  await runCommand('vitest', ['run', '--project', 'kubernetes', ...files], environment)
})
