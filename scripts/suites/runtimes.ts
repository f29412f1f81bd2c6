// One Berth with real runtimes at once: this machine, Xinference, llama-server as an endpoint, and the
// cluster of KUBECONFIG or TEST_CLUSTER if there is one (server/test/kubernetes/README.md). Needs Python 3.11
// as `python3.11` or TEST_PYTHON.
import { findLlamaServer } from '../../tools/models.ts'
import { runCommand } from '../../tools/programs.ts'
import { openCluster } from './cluster.ts'
import { runSuite } from './suite.ts'
import { installXinference, xinferenceVersions } from './xinference-environment.ts'

await runSuite('runtimes', async (cleanUps) => {
  const hasCluster = ['KUBECONFIG', 'TEST_CLUSTER'].some((name) => process.env[name] !== undefined)
  if (!hasCluster) console.log('Without KUBECONFIG and TEST_CLUSTER, Kubernetes takes no part.')
  const [version] = xinferenceVersions
  await runCommand('vitest', ['run', '--project', 'runtimes', ...process.argv.slice(2)], {
    TEST_XINFERENCE: await installXinference(version),
    TEST_XINFERENCE_VERSION: version,
    TEST_LLAMA_SERVER: JSON.stringify(await findLlamaServer()),
    ...(hasCluster && (await openCluster(cleanUps))),
  })
})
