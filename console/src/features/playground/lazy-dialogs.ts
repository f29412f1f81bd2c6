import { lazyPart } from '../../routing/lazy-part.ts'

// Most visits open none of these.
export const ParametersDrawer = lazyPart(() =>
  import('./parameters-drawer.tsx').then((module) => module.ParametersDrawer),
)
export const ViewCodeDialog = lazyPart(() =>
  import('./view-code-dialog.tsx').then((module) => module.ViewCodeDialog),
)
