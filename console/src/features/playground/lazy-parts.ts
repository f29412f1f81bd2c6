import { lazyPart } from '../../routing/lazy-part.ts'
import { loadAsking } from './load-asking.ts'

// The first view is a chat that is ready.
export const ChatCodeDialog = lazyPart(() =>
  import('./chat-code-dialog.tsx').then((module) => module.ChatCodeDialog),
)
export const DeploymentNotices = lazyPart(() =>
  import('./deployment-notices.tsx').then((module) => module.DeploymentNotices),
)
export const EmbeddingsView = lazyPart(() =>
  import('./embeddings-view.tsx').then((module) => module.EmbeddingsView),
)
export const ImageDraft = lazyPart(() => import('./image-draft.tsx').then((module) => module.ImageDraft))
export const NoDeployment = lazyPart(() =>
  import('./no-deployment.tsx').then((module) => module.NoDeployment),
)
export const ParametersDrawer = lazyPart(() =>
  import('./parameters-drawer.tsx').then((module) => module.ParametersDrawer),
)
export const ParametersForm = lazyPart(() =>
  import('./parameters-form.tsx').then((module) => module.ParametersForm),
)
export const RerankView = lazyPart(() => import('./rerank-view.tsx').then((module) => module.RerankView))
export const Transcript = lazyPart(async () => {
  const [module] = await Promise.all([import('./transcript.tsx'), loadAsking()])
  return module.Transcript
})
export const ViewCodeDialog = lazyPart(() =>
  import('./view-code-dialog.tsx').then((module) => module.ViewCodeDialog),
)
