"""nginx with one worker and static files: nothing serves bytes to the same client faster."""

import servers

SMALL_BYTES = 1024
LARGE_BYTES = 64 << 20

CONFIGURATION = """
daemon off;
worker_processes 1;
pid {directory}/pid;
error_log {directory}/error.log;
user root;
events {{ worker_connections 1024; }}
http {{
  access_log off;
  sendfile on;
  tcp_nopush on;
  keepalive_requests 1000000000;
  default_type application/octet-stream;
  client_body_temp_path {directory}/body;
  proxy_temp_path {directory}/proxy;
  fastcgi_temp_path {directory}/fastcgi;
  uwsgi_temp_path {directory}/uwsgi;
  scgi_temp_path {directory}/scgi;
  server {{
    listen 127.0.0.1:{port};
    root {directory}/files;
    location / {{ try_files $uri /small; }}
    location /big/ {{ try_files /large =404; }}
  }}
}}
"""


class Ceiling:
    """Every path is 1 KiB, /big/N is 64 MiB, and what stands in `files` is itself."""

    def __init__(self, directory):
        self.directory = directory
        self.files = directory / "files"
        self.files.mkdir(parents=True)
        (self.files / "small").write_bytes(b"x" * SMALL_BYTES)
        (self.files / "large").write_bytes(b"x" * LARGE_BYTES)
        self.port = servers.free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.process = None

    def start(self):
        file = self.directory / "nginx.conf"
        file.write_text(CONFIGURATION.format(directory=self.directory, port=self.port))
        self.process = servers.Process(["/usr/sbin/nginx", "-c", str(file), "-e", str(self.directory / "error.log")],
                                       self.directory / "nginx.log", servers.clean_environment({}))
        self.process.wait_until(lambda: servers.accepts(f"127.0.0.1:{self.port}"), "nginx")
        return self

    def stop(self):
        self.process.stop()
