COMMENT ON TABLE failure_logs IS 'The last log lines of engines whose instance was released, after a failure or a termination. Deleted 30 days after the deployment was terminated.';
