//! A Redis server that one test may stop, kill and restart.

use std::{
    net::{Ipv4Addr, TcpListener},
    process::{Child, Command, Stdio},
};

use super::world::{shared_url, until};

/// A Redis server of one test's own, killed when dropped.
pub(crate) struct Server {
    child: Child,
    port: u16,
    extra: Vec<String>,
    dir: tempfile::TempDir,
}

impl Server {
    /// Starts one, or answers `None` when no Redis tests are wanted here.
    pub(crate) async fn start(extra: &[&str]) -> Option<Self> {
        shared_url()?;
        let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap().port();
        let dir = tempfile::tempdir().unwrap();
        let extra: Vec<String> = extra.iter().map(ToString::to_string).collect();
        let child = spawn(port, &dir, &extra);
        let server = Self { child, port, extra, dir };
        server.listening().await;
        Some(server)
    }

    pub(crate) fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    pub(crate) const fn port(&self) -> u16 {
        self.port
    }

    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    pub(crate) async fn restart(&mut self) {
        self.child = spawn(self.port, &self.dir, &self.extra);
        self.listening().await;
    }

    /// Stops the process in its tracks (`STOP`) or lets it go on (`CONT`).
    pub(crate) fn signal(&self, name: &str) {
        let sent = Command::new("kill").arg(format!("-{name}")).arg(self.child.id().to_string()).status();
        assert!(sent.unwrap().success());
    }

    async fn listening(&self) {
        let port = self.port;
        until("redis-server listens", async || tokio::net::TcpStream::connect(("127.0.0.1", port)).await.is_ok()).await;
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn spawn(port: u16, dir: &tempfile::TempDir, extra: &[String]) -> Child {
    Command::new("redis-server")
        .args(["--port", &port.to_string(), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"])
        .arg("--dir")
        .arg(dir.path())
        .args(extra)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("redis-server absent")
}
