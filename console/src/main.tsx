import '@fontsource-variable/geist'
import '@fontsource-variable/geist-mono'
import './styles.css'
import { QueryClientProvider } from '@tanstack/react-query'
import { RouterProvider } from '@tanstack/react-router'
import { setNonce } from 'get-nonce'
import { StrictMode, startTransition } from 'react'
import { createRoot } from 'react-dom/client'
import { dropEarlyResponses } from './api/early.ts'
import { createQueryClient } from './api/query-client.ts'
import { sessionQuery } from './api/session.ts'
import { ToastProvider } from './components/toast.tsx'
import { createAppRouter, fetchFirstPage } from './router.tsx'
import { followOtherTabs, redirectToSignIn } from './shell/session-end.ts'

// The development server sends the page unchanged; Berth's server sets the theme.
if (import.meta.env.DEV) {
  const { readTheme } = await import('./theme.ts')
  document.documentElement.dataset.theme = readTheme()
}

// Radix adds a style element while a dialog is open. The content security policy requires its nonce.
setNonce(document.querySelector<HTMLMetaElement>('meta[property=csp-nonce]')?.nonce ?? '')

const onSessionEnd = (email?: string) => redirectToSignIn(router, { email, sessionEnded: true })
const onFactorRequired = () => void router.navigate({ to: '/set-up-second-factor', replace: true })
const queryClient = createQueryClient(onSessionEnd, onFactorRequired)
const router = createAppRouter(queryClient)
// The server has already seen that the browser has no session cookie, so a session request would return 401.
if (document.documentElement.dataset.session === 'none') queryClient.setQueryData(sessionQuery.queryKey, null)
fetchFirstPage(router, queryClient)
followOtherTabs(queryClient, router)

// index.html's frame stays visible until the first view is ready. A transition renders in short steps.
void router.load().finally(() => startTransition(render))

function render() {
  dropEarlyResponses()
  createRoot(document.getElementById('root')!).render(
    <StrictMode>
      <QueryClientProvider client={queryClient}>
        <ToastProvider>
          <RouterProvider router={router} />
        </ToastProvider>
      </QueryClientProvider>
    </StrictMode>,
  )
}
