import '@fontsource-variable/geist'
import '@fontsource-variable/geist-mono'
import './styles.css'
import { QueryClientProvider } from '@tanstack/react-query'
import { RouterProvider } from '@tanstack/react-router'
import { setNonce } from 'get-nonce'
import { StrictMode, startTransition } from 'react'
import { createRoot } from 'react-dom/client'
import { dropEarlyAnswers } from './api/early.ts'
import { createQueryClient } from './api/query-client.ts'
import { sessionQuery } from './api/session.ts'
import { ToastProvider } from './components/toast.tsx'
import { createAppRouter, fetchFirstPage } from './router.tsx'
import { followOtherTabs, redirectToSignIn } from './shell/session-end.ts'
import { applyTheme } from './theme.ts'

applyTheme()
// Radix writes a style element while a dialog is open; the content security policy wants its nonce.
setNonce(document.querySelector<HTMLMetaElement>('meta[property=csp-nonce]')?.nonce ?? '')

const onSessionEnd = () => redirectToSignIn(router)
const queryClient = createQueryClient(onSessionEnd)
const router = createAppRouter(queryClient)
// The server saw that the browser has no session: asking would bring nothing but a 401.
if (document.documentElement.dataset.session === 'none') queryClient.setQueryData(sessionQuery.queryKey, null)
fetchFirstPage(router, queryClient)
followOtherTabs(queryClient, router)

// The frame that came with the page stays in sight until the first view is there, which is drawn in short steps.
void router.load().finally(() => startTransition(render))

function render() {
  dropEarlyAnswers()
  const root = document.getElementById('root')
  if (!root) throw new Error('index.html has no #root.')
  createRoot(root).render(
    <StrictMode>
      <QueryClientProvider client={queryClient}>
        <ToastProvider>
          <RouterProvider router={router} />
        </ToastProvider>
      </QueryClientProvider>
    </StrictMode>,
  )
}
